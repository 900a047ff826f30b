-- Put into the log what is due by the time ARGV[1]. How many that were.
return move_due(ARGV[1])
