#!/bin/sh
':' //; exec node -- "$0" "$@"
// Two readings: the shell runs the line above, JavaScript skips it. Without `--` Node.js itself would take an --env-file
// of ours, wherever it stands on the line, and end with its own words where the file is missing.
// A committed file: npm links no bin whose target does not exist yet when it installs.
import '../dist/main.js'
