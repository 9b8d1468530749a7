"""Static depth: captured objects judged without a driver, with file and line of each finding."""
