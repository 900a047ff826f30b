local wanted = {}
for index = 2, #ARGV, 2 do
  local letter, key = parsed(ARGV[index])
  local stored = ARGV[index + 1]
  local version, removed = math.abs(tonumber(stored)), string.sub(stored, 1, 1) == '-'
  if behind(place(key), ARGV[index], letter, key, version, removed, tonumber(ARGV[1])) then
    wanted[#wanted + 1] = ARGV[index]
  end
end
return wanted
