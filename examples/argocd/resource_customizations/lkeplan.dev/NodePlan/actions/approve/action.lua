-- The approval covers the plan in the status, the guards that refuse it now, and
-- the number of nodes that it affects now, for a day. The API server accepts it
-- only if Argo CD has the verb approve, and only in the name of Argo CD.
local os = require("os")

if obj.status == nil or obj.status.plan == nil or obj.status.plan.digest == nil then
  error("there is no plan to approve")
end
local guards = {}
if obj.status.guards ~= nil then
  for _, guard in ipairs(obj.status.guards) do
    if guard.status == "blocked" then
      table.insert(guards, guard.permission)
    end
  end
end
obj.status.approval = {
  planDigest = obj.status.plan.digest,
  guards = guards,
  maxNodes = obj.status.plan.nodesDeleted + obj.status.plan.nodesRolled + (obj.status.plan.nodesDrained or 0),
  expires = os.date("!%Y-%m-%dT%H:%M:%SZ", os.time() + 24 * 60 * 60),
  by = "system:serviceaccount:argocd:argocd-server",
}
return obj
