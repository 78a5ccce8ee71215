"""Further sections of a report: each folder holds the numbers, the page and the figure of one."""
