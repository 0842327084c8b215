-- SPDX-License-Identifier: Apache-2.0
-- adapter_work.lua NAME: one loop, of the kinds that Lua's benchmarks are; prints its processor seconds.
local run = {}

local function tree(depth)
	return depth > 0 and { tree(depth - 1), tree(depth - 1) } or {}
end

function run.trees() for _ = 1, 20 do tree(15) end end

function run.strings()
	for i = 1, 25 do
		local parts = {}
		for j = 1, 20000 do parts[j] = ("%d %d"):format(i, j) end
		local _ = table.concat(parts, " "):gsub("%d+", "x")
	end
end

function run.tables()
	for _ = 1, 12 do
		local t = {}
		for i = 1, 30000 do t[i] = { i, i + 1 } end
		table.sort(t, function(a, b) return a[1] > b[1] end)
	end
end

function run.coroutines()
	for _ = 1, 150000 do
		local co = coroutine.wrap(function() for i = 1, 10 do coroutine.yield({ i }) end end)
		for _ = 1, 10 do co() end
	end
end

function run.closures()
	local f = function() return 0 end
	for i = 1, 5000000 do local g = f f = function() return i, g end if i % 100 == 0 then f = function() return 0 end end end
end

function run.calls()
	local function fib(n) return n < 2 and n or fib(n - 1) + fib(n - 2) end
	fib(33)
end

local start = os.clock()
run[arg[1]]()
print(os.clock() - start)
