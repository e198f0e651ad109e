// Package ci runs the scripts of the examples for CI systems on this machine, for their
// tests: those of a workflow in the environment that GitHub Actions gives them, and those of
// a job in that of GitLab, with a program gh that answers as GitHub does.
//
// The shell is real, and so are the programs that it calls. Whatever is not supported
// is an error, so that no test passes by accident: an expression without a value, an
// unknown action or flag of gh, and an expression within a script, where the author of
// its value could write commands.
package ci
