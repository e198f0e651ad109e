-- What is approved is the plan that the status shows, and no later one: another
-- plan has another digest, and waits again.
if obj.status == nil or obj.status.plan == nil or obj.status.plan.digest == nil then
  error("there is no plan to approve")
end
obj.spec.approval = { planDigest = obj.status.plan.digest }
return obj
