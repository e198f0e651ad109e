-- Approve is offered while a plan waits for approval, and not again after that.

local ready = nil
if obj.status ~= nil and obj.status.conditions ~= nil then
  for _, c in ipairs(obj.status.conditions) do
    if c.type == "Ready" then
      ready = c
    end
  end
end
local suspended = obj.spec.suspend == true
local planned = obj.status ~= nil and obj.status.plan ~= nil and obj.status.plan.digest ~= nil
local waits = planned and ready ~= nil and ready.reason == "ApprovalPending"
local approval = waits and obj.status.approval
if approval and approval.planDigest == obj.status.plan.digest then
  waits = false
end

return {
  reconcile = { disabled = suspended },
  suspend = { disabled = suspended },
  resume = { disabled = not suspended },
  approve = { disabled = suspended or not waits },
}
