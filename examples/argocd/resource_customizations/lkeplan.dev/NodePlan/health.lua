-- Pools are cluster-scoped, so Argo CD's tree does not show them below their
-- NodePlan: the message shows their progress. The script uses no Lua libraries.

local function health(status, message)
  return { status = status, message = message }
end

local function condition(kind)
  if obj.status ~= nil and obj.status.conditions ~= nil then
    for _, c in ipairs(obj.status.conditions) do
      if c.type == kind then
        return c
      end
    end
  end
  return nil
end

-- Times are in UTC and in one format, so they sort as text.
local function pools()
  if obj.status == nil or obj.status.pools == nil or #obj.status.pools == 0 then
    return ""
  end
  local current, nodes, outdated, window = 0, 0, 0, nil
  for _, pool in ipairs(obj.status.pools) do
    nodes = nodes + pool.nodes
    outdated = outdated + pool.outdated
    if pool.outdated == 0 then
      current = current + 1
    end
    if pool.nextWindow ~= nil and (window == nil or pool.nextWindow < window) then
      window = pool.nextWindow
    end
  end
  local text = current .. "/" .. #obj.status.pools .. " pools up to date, "
  if outdated == 0 then
    text = text .. nodes .. " nodes"
  else
    text = text .. outdated .. " of " .. nodes .. " nodes outdated"
  end
  if window ~= nil then
    text = text .. ", next window " .. window
  end
  return text .. ". "
end

if obj.metadata.deletionTimestamp ~= nil then
  return health("Progressing", "Being deleted")
end

if obj.spec.suspend then
  return health("Suspended", pools() .. "Nothing is compared or applied until it is resumed")
end

local ready = condition("Ready")
if ready == nil or obj.status.observedGeneration ~= obj.metadata.generation then
  return health("Progressing", "The controller has not seen this generation yet")
end

-- During the next comparison, Ready has the result of the previous one.
if ready.status == "True" then
  return health("Healthy", pools() .. ready.message)
end
if ready.status ~= "False" or ready.reason == "DependencyNotReady" then
  return health("Progressing", ready.message)
end
if ready.reason == "ApprovalPending" then
  return health("Suspended", pools() .. ready.message)
end
return health("Degraded", ready.reason .. ": " .. ready.message)
