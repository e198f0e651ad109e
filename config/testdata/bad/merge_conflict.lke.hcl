<<<<<<< HEAD # want: Merge conflict: This line is a conflict marker of Git. Resolve the conflict and delete the markers.
pool "a" {}
=======
pool "b" {}
>>>>>>> change
