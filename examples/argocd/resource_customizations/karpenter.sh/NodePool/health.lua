-- Ready summarizes the other conditions; its message only names them.

local function health(status, message)
  return { status = status, message = message }
end

if obj.metadata.deletionTimestamp ~= nil then
  return health("Progressing", "Being deleted, after its nodes")
end

local ready = nil
local rolling = nil
local complaints = ""
if obj.status ~= nil and obj.status.conditions ~= nil then
  for _, c in ipairs(obj.status.conditions) do
    if c.type == "Ready" then
      ready = c
    elseif c.type == "RolledOut" then
      rolling = c
    elseif c.status == "False" then
      if complaints ~= "" then
        complaints = complaints .. "; "
      end
      complaints = complaints .. c.type .. ": " .. (c.message or c.reason)
    end
  end
end

if ready == nil or (ready.observedGeneration ~= nil and ready.observedGeneration ~= obj.metadata.generation) then
  return health("Progressing", "The controller has not seen this generation yet")
end
if ready.status == "False" then
  if complaints == "" then
    complaints = ready.message
  end
  return health("Degraded", complaints)
end
if ready.status ~= "True" then
  return health("Progressing", ready.message)
end

-- This is not a part of Ready: nodes were created and did not join.
if complaints ~= "" then
  return health("Degraded", complaints)
end
if rolling ~= nil and (rolling.status == "False" or
  (rolling.observedGeneration ~= nil and rolling.observedGeneration ~= obj.metadata.generation)) then
  return health("Progressing", rolling.message)
end
if obj.status.nodes ~= nil then
  return health("Healthy", obj.status.nodes .. " nodes")
end
return health("Healthy", "")
