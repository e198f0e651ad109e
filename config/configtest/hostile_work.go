package configtest

import "strings"

// looped do much with little.
func looped() []Hostile {
	return []Hostile{
		locals("loops",
			`a = join("", [for a in range(1024) : join("", [for b in range(1024) : "xxxxxxxxxx"])])`),
		locals("loops in a template's loops",
			`a = "%{for a in range(1024)}%{for b in range(1024)}x%{endfor}%{endfor}"`),
		locals("loops over a local", "r = range(1024)",
			"a = [for a in local.r : [for b in local.r : [for c in local.r : a]]]"),
		locals("splats over a local", "r = range(1024)", "a = [for a in local.r : local.r[*]]"),
		locals("comparisons in a loop", `r = [for i in range(1000) : "x"]`,
			"a = [for a in range(1000) : local.r == local.r]"),
		locals("conversions", `a = tolist([for i in concat(range(1024), range(1024), range(1024)) : [1, "x"][i % 2]])`),
		locals("conditional of long tuples", "r = [for i in concat(range(1024), range(1024), range(1024)) : i]",
			"a = true ? local.r : []"),
		locals("many loops", "r = range(1024)", numbered(5000, "a# = [for a in local.r : \"x${a}\"]\n")),
		locals("long expressions in a loop", "a = [for i in range(1000) : [i, "+fill("1, ")[:60_000]+"]]"),
		locals("errors in a loop", "a = [for i in range(1024) : [for j in range(1024) : i.x]]"),
		locals("errors in many loops", "r = range(1024)", numbered(5000, "a# = [for i in local.r : i.x]\n")),
		locals("all locals, often", numbered(8000, "a# = 1\n"), "b = [for i in range(10) : 1]"),
		native("all locals in checks", "locals {\n"+numbered(8000, "a# = 1\n")+"}\n"+
			numbered(1000, "check \"c#\" {\n  assert {\n    condition = length(local) > 0\n    error_message = \"a\"\n  }\n}\n")),
		native("all pools in checks", repeatedPool("")+numbered(1000,
			"check \"c#\" {\n  assert {\n    condition = length(pool) > 0\n    error_message = \"a\"\n  }\n}\n")),
		native("all pools in limits", repeatedPool("")+
			"limits \"l\" {\n  for_each = toset([for i in range(1000) : \"l${i}\"])\n  pools = values(pool.a)\n  nodes = 1\n}\n"),
		native("written pools in limits", numbered(1000, "pool \"a#\" {\n  node_class = node_class.a\n}\n")+"node_class \"a\" {}\n"+
			"limits \"l\" {\n  for_each = toset([for i in range(1000) : \"l${i}\"])\n  pools = values(pool)\n  nodes = 1\n}\n"),
		native("written pools in checks", numbered(1000, "pool \"a#\" {\n  node_class = node_class.a\n}\n")+"node_class \"a\" {}\n"+
			numbered(1000, "check \"c#\" {\n  assert {\n    condition = alltrue([for p in values(pool) : p.weight != 1])\n"+
				"    error_message = \"a\"\n  }\n}\n")),
		native("labels of written pools in limits", numbered(1000, "pool \"a#\" {\n  node_class = node_class.a\n"+
			"  labels = { a = \"b\", c = \"d\" }\n}\n")+"node_class \"a\" {}\n"+
			"limits \"l\" {\n  for_each = toset([for i in range(1000) : \"l${i}\"])\n  pools = values(pool)\n  nodes = 1\n}\n"),
		native("rounds of dynamic blocks", repeatedPool(
			"disruption {\n  dynamic \"budget\" {\n    for_each = range(1000)\n    content {\n      nodes = \"10%\"\n    }\n  }\n}")),
		native("rounds of dynamic blocks in try", repeatedPool("disruption {\n  dynamic \"budget\" {\n"+
			"    for_each = try(range(1000), [])\n    content {\n      nodes = try(budget.value.x, \"10%\")\n    }\n  }\n}")),
		native("objects", "pool \"a\" {\n  for_each = toset([for p in setproduct(range(120), range(100)) : "+
			"\"${p[0]}-${p[1]}\"])\n}").want("Too many objects"),
		locals("a product of sets", "a = toset([for x in range(150) : tostring(x)])\nc = setproduct(local.a, local.a)"),
		locals("products of sets", "a = toset([for x in range(10) : tostring(x)])\n"+
			numbered(4000, "a# = setproduct(local.a, local.a)\n")),
		locals("unions of sets of objects", "a = toset([for x in range(100) : { a = x }])\n"+
			numbered(1000, "a# = setunion(local.a, local.a)\n")),
		locals("a set of tuples", "a = toset([for x in range(400) : [x]])\n"+
			numbered(100, "a# = setsubtract(local.a, toset([[0]]))\n")),
		locals("sets of sets", "a = toset([for x in range(60) : toset([for y in range(60) : tostring(x * y)])])\n"+
			numbered(100, "a# = setunion(local.a, local.a)\n")),
		locals("comparisons of sets of objects", "a = toset([for x in range(150) : { a = x }])\n"+
			numbered(2000, "a# = local.a == local.a\n")),
		locals("a search for each element of a set", "a = toset([for x in range(400) : { a = x }])\n"+
			"b = [for x in local.a : contains(local.a, x)]"),
		locals("rounds over a set of tuples", "a = toset([for x in range(900) : [x, x]])\n"+
			numbered(500, "a# = [for x in local.a : 1]\n")),
		native("as many objects as there may be", "locals {\n  a = ["+numbered(10, "range(1000), ")+"]\n}\nnode_class \"a\" {\n"+
			"  for_each = toset([for i, v in flatten(local.a) : \"a${i}\"])\n}\n").valid(),
		locals("chain", numbered(5000, "a# = [local.b#, 1]\nb# = 1\n")).valid(),
		locals("chain of names", chained(5000, "local.a#"), "a0 = 1").valid(),
		locals("chain of names backwards", backwards(5000)),
		native("policies", numbered(2000, "policy \"p#\" {\n  condition = [for a in range(1024): [for b in "+
			"range(1024): plan.nodes.total]]\n  error_message = \"a\"\n}\n")).want("Too much work"),
		native("imports", numbered(4000, "import {\n  to = pool.a#\n  id = \"a\"\n}\n")).want("Too many blocks"),
		native("moves", numbered(4000, "moved {\n  from = pool.a#\n  to = pool.b\n}\n")).want("Too many blocks"),
		native("a chain of moves", "node_class \"a\" {\n  for_each = toset([for n in range(1024): \"a${n}\"])\n}\n"+
			"moved {\n  from = node_class.a0\n  to = node_class.a\n}\nlocals {\n  a = local.b\n}\n"+
			chainedText(498, "moved {\n  from = node_class.a%[2]d\n  to = node_class.a%[1]d\n}\n")).want("Unknown reference"),
	}
}

// matched are regular expressions.
func matched() []Hostile {
	text := strings.Repeat("a", 20_000)
	return []Hostile{
		locals("regex of groups", `a = regex("`+strings.Repeat("(a)", 20_000)+`", "`+text+`")`),
		locals("regex of repetitions", `a = regex("`+strings.Repeat("(?:a?){1000}", 60)+`", "`+text+`")`),
		locals("regex of open groups", `a = regex("`+strings.Repeat("(.*)", 900)+`", "`+text+`")`),
		locals("regex of repeated groups", `a = regex("((.*){30}){30}z", "`+text+`")`),
		locals("regex of names", `a = regex("`+numbered(6000, "(?P<a#>)")+`", "a")`),
		locals("regex of classes", `a = regex("`+fill(`\\pL`)+`", "a")`),
		locals("regex without a match", `a = regex("(x+x+)+y", "`+strings.Repeat("x", 200_000)+`")`),
		locals("regexes", "t = \""+text+"\"", numbered(5000, `a# = regex("(.*)(.*)(.*)(.*)(.*)z?", local.t)`+"\n")),
		locals("regexes in a loop", `a = [for i in range(1000) : can(regex("(a*)*b${i}", "`+text+`"))]`),
		locals("regexes that are short", "t = range(1000)",
			numbered(2000, `a# = [for i in local.t : can(regex("a${i}", "a"))]`+"\n")),
	}
}

// repeated are many blocks and names, each of them fine.
func repeated() []Hostile {
	return []Hostile{
		native("pools", numbered(2500, "pool \"a#\" {\n  node_class = node_class.a\n}\n")+"node_class \"a\" {}\n").valid(),
		native("pools of one name", strings.Repeat("pool \"a\" {\n}\n", 10_000)),
		native("empty pools", numbered(9000, "pool \"a#\" {}\n")),
		native("unknown blocks", numbered(18_000, "a# {}\n")),
		native("blocks that Terraform has", numbered(6000, "resource \"a\" \"a#\" {}\n")),
		native("unknown arguments", "pool \"a\" {\n"+numbered(20_000, "a# = 1\n")+"}\n"),
		native("equal arguments", "locals {\n"+fill("a = 1\n")+"}\n"),
		locals("locals", numbered(12_000, "a# = \"b\"\n")).valid(),
		native("locals blocks", numbered(10_000, "locals { a# = 1 }\n")).valid(),
		native("variables", numbered(8000, "variable \"a#\" {}\n")),
		native("checks", "locals {\n  a = 1\n}\n"+numbered(2500,
			"check \"c#\" {\n  assert {\n    condition = local.a > 0\n    error_message = \"a\"\n  }\n}\n")).valid(),
		native("node classes, more of them", numbered(11_000, "node_class \"a#\" {}\n")),
		native("node classes", numbered(9000, "node_class \"a#\" {}\n")).valid(),
		native("limits", numbered(4000, "limits \"l#\" {\n  nodes = 1\n}\n")).valid(),
		native("overlays", numbered(2000, "overlay \"o#\" {\n  requirements = { arch = \"amd64\" }\n  weight = 1\n"+
			"  price = \"1\"\n}\n")),
		native("modules", numbered(5000, "module \"a#\" {\n  source = \"./a\"\n}\n")),
		native("dynamic blocks", pool("disruption {\n"+strings.Repeat("dynamic \"budget\" {\n  for_each = []\n  content {}\n}\n", 4000)+
			"}")),
	}
}

// reported are mistakes by the thousand.
func reported() []Hostile {
	long := strings.Repeat("a", 60_000)
	return []Hostile{
		locals("unknown names", numbered(10_000, "a# = local.b#\n")),
		locals("unknown names in one list", "a = ["+numbered(9000, "local.b#, ")+"]", numbered(5000, "a# = 1\n")),
		locals("long names", long+"b = 1", long+"c = 1", "a = local."+long),
		locals("names of some length", numbered(1000, strings.Repeat("a", 50)+"# = local.b"+strings.Repeat("a", 49)+"#\n")),
		locals("unknown functions", numbered(10_000, "a# = f#()\n")),
		locals("a function with a long name", "a = "+long+"()"),
		locals("unknown attributes", "b = {"+numbered(5000, "a# = 1, ")+"}", numbered(5000, "c# = local.b.d#\n")),
		locals("unknown roots", numbered(12_000, "a# = b#.c\n")),
		native("unknown keys of requirements", pool("requirements = {"+numbered(9000, "a# = 1,")+"}")),
		native("unknown attributes of a type", "variable \"a\" {\n  type = object({"+numbered(3000, "a# = optional(string),")+
			"})\n  default = {"+numbered(9000, "b# = 1,")+"}\n}\n"),
		native("missing attributes of a type", "variable \"a\" {\n  type = list(object({"+numbered(3000, "a# = string,")+
			"}))\n  default = ["+fill("{},")[:27_000]+"]\n}\n"),
		native("failing checks", "locals {\n  a = 1\n  t = join(\"\", range(1024))\n}\n"+numbered(2000,
			"check \"c#\" {\n  assert {\n    condition = local.a > 1\n    error_message = local.t\n  }\n}\n")),
		native("failing checks of a large value", "locals {\n  a = [for i in range(100) : range(1000)]\n}\n"+numbered(2000,
			"check \"c#\" {\n  assert {\n    condition = length(local.a) > 1000\n    error_message = \"a\"\n  }\n}\n")),
		native("unknown arguments with long names", "pool \"a\" {\n"+numbered(4, strings.Repeat("b", 60_000)+"# = 1\n")+"}\n"),
		native("names that are no labels", "node_class \"a\" {\n  for_each = toset([for i in range(1000) : \""+
			strings.Repeat("A", 1000)+"${i}\"])\n}\n"),
		native("wrong types", repeatedPool("weight = \"heavy\"")),
		native("invalid objects", repeatedPool("weight = 1000000")),
		native("a long message", "locals {\n  a = 1\n}\ncheck \"c\" {\n  assert {\n    condition = local.a > 1\n"+
			"    error_message = \""+fill("a ")+"\"\n  }\n}\n"),
		native("objects named pool", "locals {\n  a = [pool]\n}\npool \"a\" {\n  labels = {"+numbered(18_000, "a# = 1,")+"}\n}\n"),
		native("a long label", "pool \""+fill("a")+"\" {}\n"),
		native("a long line", "locals { a = ["+fill("b,")+"] }\n"),
		native("conflict markers", fill("<<<<<<< HEAD\n=======\n>>>>>>> a\n")),
	}
}

func backwards(n int) string {
	return numbered(n, "a# = local.b#\n") + chainedText(n, "b%[1]d = local.b%[2]d\n") + "\n"
}

// pool is a pool with a body.
func pool(body string) string {
	return "node_class \"a\" {}\npool \"a\" {\n  node_class = node_class.a\n  " + body + "\n}\n"
}

// repeatedPool is a thousand pools with a body.
func repeatedPool(body string) string {
	return pool("for_each = toset([for i in range(1000) : \"a${i}\"])\n  " + body)
}
