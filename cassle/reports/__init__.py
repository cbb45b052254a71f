"""From run directories to tables, plots and one page."""
