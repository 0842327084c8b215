-- SPDX-License-Identifier: Apache-2.0
-- held.lua [REGION TRUTH]: functions that hold memory.  What each holds is what Lua counts more after it than
-- before, as the collector stands; with arguments that goes to TRUTH, and geiger's state to REGION.
kept = {}
local n = arg[1] and 400 or 3000
local hold = {}

-- Each allocates by itself alone, and nothing that Lua keeps for all (short strings are in a common table).
local long = ("a text that is longer than forty characters "):rep(2)
function hold.hold_strings() local t = {} for i = 1, n do t[i] = long .. "and more" end kept[1] = t end
function hold.hold_tables() local t = {} for i = 1, n do t[i] = { i, x = { i } } end kept[2] = t end
function hold.hold_closures() local t = {} for i = 1, n do t[i] = function() return i, t end end kept[3] = t end
function hold.hold_map() local t = {} for i = 1, n do t[i + 0.5] = i end kept[4] = t end
function hold.hold_long() local s = long for i = 1, 60 do s = s .. long end kept[5] = s end

local names = { "hold_strings", "hold_tables", "hold_closures", "hold_map", "hold_long" }
local counted = { 0, 0, 0, 0, 0 }

if arg[1] then
	local geiger = require "geiger"
	local count = collectgarbage
	for i = 1, 8 do kept[i] = false end
	collectgarbage() collectgarbage("stop")
	-- Lua's own stack grows here, and not in one of them.
	local function grow(depth) return depth == 0 and 0 or 1 + grow(depth - 1) end
	grow(60)
	-- Its name is what it is called by.
	local before = count("count")
	local hold_strings = hold.hold_strings hold_strings() counted[1] = count("count")
	local hold_tables = hold.hold_tables hold_tables() counted[2] = count("count")
	local hold_closures = hold.hold_closures hold_closures() counted[3] = count("count")
	local hold_map = hold.hold_map hold_map() counted[4] = count("count")
	local hold_long = hold.hold_long hold_long() counted[5] = count("count")
	assert(geiger.snapshot(arg[1]))
	local file <close> = assert(io.open(arg[2], "w"))
	for i, name in ipairs(names) do
		file:write(name, " ", math.tointeger((counted[i] - before) * 1024), "\n")
		before = counted[i]
	end
else
	for _ = 1, 3 do
		local hold_strings, hold_tables, hold_closures = hold.hold_strings, hold.hold_tables, hold.hold_closures
		local hold_map, hold_long = hold.hold_map, hold.hold_long
		hold_strings() hold_tables() hold_closures() hold_map() hold_long()
	end
end
