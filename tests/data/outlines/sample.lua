local M = {}
-- Adds.
function M.add(x) end
function M:sum() end
local function hidden() end
M.late = function() end
local late = function() end
local t = { f = function() end }
Global = { g = 1 }
limit = 1
local size = "é"
return M
