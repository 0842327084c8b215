-- SPDX-License-Identifier: Apache-2.0
-- programs.lua NAME: what Lua programs do; prints sums of what came out.
local run = {}

function run.strings()
	local parts, n = {}, 0
	for i = 1, 20000 do parts[#parts + 1] = ("%d:%s"):format(i, ("x"):rep(i % 40)) end
	local text = table.concat(parts, ",")
	for word in text:gmatch("%d+:x+") do n = n + #word end
	return #text, n, #text:gsub("x+", function(x) return tostring(#x) end), text:reverse():find("02x")
end

function run.tables()
	local root, count = {}, 0
	local function tree(depth)
		if depth == 0 then return { depth } end
		return { left = tree(depth - 1), right = tree(depth - 1), n = depth }
	end
	local function walk(t)
		count = count + 1
		if t.left then walk(t.left) walk(t.right) end
	end
	for i = 1, 10 do root[i] = tree(9) end
	for i = 1, 10 do walk(root[i]) end
	local list = {}
	for i = 1, 30000 do list[i] = (i * 7919) % 30011 end
	table.sort(list)
	local sparse = {}
	for i = 1, 5000 do sparse[i * 37] = i sparse["k" .. i] = { i } end
	for i = 1, 4000 do sparse[i * 37] = nil end
	return count, list[1], list[#list], select("#", table.unpack(list, 1, 200)), #table.pack(table.unpack(list, 1, 5000))
end

function run.coroutines()
	local sum = 0
	local function numbers(n) return coroutine.wrap(function() for i = 1, n do coroutine.yield(i) end end) end
	for i = 1, 300 do for x in numbers(i % 17) do sum = sum + x end end
	local function filter(p, g) return coroutine.wrap(function() for n in g do if n % p ~= 0 then coroutine.yield(n) end end end) end
	local sieve, primes = coroutine.wrap(function() for n = 2, 400 do coroutine.yield(n) end end), {}
	for _ = 1, 60 do local p = sieve() if not p then break end primes[#primes + 1] = p sieve = filter(p, sieve) end
	local co = coroutine.create(function(a, ...)
		local b = { coroutine.yield(select("#", ...), a) }
		local held <close> = setmetatable({}, { __close = function(_, e) print("closed", type(e)) end })
		error({ code = #b })
	end)
	print(coroutine.resume(co, 1, nil, nil)) print(coroutine.status(co), coroutine.isyieldable(), coroutine.running() ~= nil)
	local ok, e = coroutine.resume(co, 1, 2, 3)
	print(ok, type(e), e.code, coroutine.resume(co)) print(coroutine.close(co) == false)
	print(pcall(coroutine.wrap(function() error("inside") end)))
	print(pcall(coroutine.wrap(function() local x <close> = setmetatable({}, { __close = function() error("closing") end }) error("first") end)))
	print(pcall(coroutine.wrap(function() error() end)), pcall(coroutine.wrap(function() error({}) end)) == false)
	local dead = coroutine.wrap(function() return 1 end)
	print(dead(), pcall(dead))
	print(pcall(coroutine.resume, "no thread")) print(pcall(coroutine.wrap)) print(coroutine.resume(coroutine.running()))
	print(coroutine.resume(coroutine.create(function() return table.unpack({}, 1, 200) end)) == true)
	print(pcall(coroutine.wrap(function() return pcall(pcall, error, "deep") end)))
	coroutine.wrap(function() print(debug.traceback("in a coroutine")) end)()
	local function down(n) return n == 0 and 0 or 1 + coroutine.wrap(down)(n - 1) end
	print(down(100)) print(pcall(down, 300))
	return sum, #primes, primes[#primes]
end

function run.collector()
	local finalized, weak = 0, setmetatable({}, { __mode = "k" })
	for i = 1, 20000 do
		local t = setmetatable({ i }, { __gc = function(t) finalized = finalized + 1 local made = { t[1], tostring(t) } end })
		if i % 50 == 0 then weak[t] = { t } end
	end
	collectgarbage() collectgarbage("generational")
	for i = 1, 20000 do local t = { i, { i } } end
	collectgarbage("incremental") collectgarbage()
	local n = 0 for _ in pairs(weak) do n = n + 1 end
	return finalized, n
end

function run.recursion()
	local function deep(n) if n == 0 then return 0 end return 1 + deep(n - 1) end
	local function endless(n) return 1 + endless(n + 1) end
	local ok, e = pcall(endless, 1)
	return deep(15000), ok, (tostring(e):gsub("\n.*", "")), select("#", table.unpack({}, 1, 100000)), pcall(string.rep, "x", -1)
end

function run.chunks()
	local made = {}
	for i = 1, 500 do made[i] = load(("local a, b = %d, ... return function() return a + b end"):format(i), i % 2 == 0 and "=made" or nil) end
	local sum = 0
	for i = 1, 500 do sum = sum + made[i](i)() end
	print(load("x =")) print(load("goto nowhere", "@some.lua")) print(pcall(load("error('from a chunk')", "=here")))
	local dump = string.dump(made[7])
	return sum, #dump > 0, load(dump)(1)(), pcall(require, "not.there") == false
end

function run.files()
	local name = "a.txt"
	local f <close> = assert(io.open(name, "w"))
	for i = 1, 5000 do f:write(i, "\t", ("y"):rep(i % 80), "\n") end
	f:close()
	local n, bytes = 0, 0
	for line in io.lines(name) do n = n + 1 bytes = bytes + #line end
	local whole <close> = io.open(name)
	io.stderr:write("to stderr\n")
	return n, bytes, #whole:read("a"), os.getenv("NOT_SET"), io.open("/not/there")
end

function run.exits()
	held = setmetatable({}, { __gc = function() print("collected") end })
	coroutine.wrap(function() setmetatable({}, { __gc = function() print("at the end") end }) os.exit(5, true) end)()
end

function run.fails()
	error(setmetatable({}, { __tostring = function() return "an error with a text" end }))
end

print(arg[0]:match("[^/]*$"), ...)
print(run[...]())
