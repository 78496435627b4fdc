#!/usr/bin/env node
// A committed file: npm links no bin whose target does not exist yet when it installs.
import '../dist/main.js'
