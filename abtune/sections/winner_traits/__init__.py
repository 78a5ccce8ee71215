"""What the schedules of winners have, from their traces."""
