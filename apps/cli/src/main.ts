import { packageVersion } from './process.ts'

const [only, ...others] = process.argv.slice(2)

// Asked by scripts and checks all the time: it loads nothing of the program.
if ((only === '--version' || only === '-v') && others.length === 0) process.stdout.write(`${packageVersion()}\n`)
else await (await import('./run.ts')).runProcess()
