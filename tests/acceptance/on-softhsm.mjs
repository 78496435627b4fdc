// Starts an authority whose key is in a SoftHSM token, from a settings file that names a key file: for an acceptance kit
// that creates its own keys. node tests/acceptance/on-softhsm.mjs FILE.env
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { TestToken } from '../../packages/testkit/dist/test-token.js'

const envFile = process.argv[2] ?? ''
const lines = readFileSync(envFile, 'utf8').split('\n')
const keyFile = lines.find((line) => line.startsWith('NA_PRIVATE_KEY_FILE='))?.slice('NA_PRIVATE_KEY_FILE='.length)
const folder = join(dirname(envFile), 'token')
const env = { ...process.env }
let settingsFile = envFile
// Settings without a key file stay unchanged: the start is refused, as the kit expects.
if (keyFile !== undefined) {
  const seed = readFileSync(keyFile, 'utf8')
    .split('\n')
    .filter((line) => !line.startsWith('#'))
    .join('')
    .trim()
  const token = new TestToken(folder)
  if (!token.tool('--list-objects').includes('accept-key')) token.import('accept-key', seed)
  const kept = lines.filter((line) => !/^NA_(?:PRIVATE_KEY_FILE|KEY_PROVIDER)=/.test(line))
  const added = Object.entries(token.settings('accept-key')).map(([name, value]) => `${name}=${value}`)
  settingsFile = join(folder, 'authority.env')
  writeFileSync(settingsFile, [...kept, ...added, ''].join('\n'), { mode: 0o600 })
  env.SOFTHSM2_CONF = token.configFile
}
const child = spawn('npx', ['--no-install', 'chancery', 'authority', 'start', '--env-file', settingsFile], {
  env,
  stdio: 'inherit',
})
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
child.on('exit', (code) => process.exit(code ?? 1))
