"""Further sections of a report: each module or folder holds the numbers, the page and the figure of one."""
