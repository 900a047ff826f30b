local function shown(key) return key ~= '._digests' and string.sub(key, 1, 11) ~= '._versions:' end
