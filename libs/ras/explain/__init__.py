"""Why a reservation has the servers that it has. Every claim is made by solving again."""
