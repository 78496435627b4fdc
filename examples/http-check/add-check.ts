/**
 * Adds the HTTP check to a gateway: the member `check` of its policy file, and the listener for the proxy.
 *
 *   node add-check.ts FOLDER CHECK_FILE [ADDRESS]
 *
 * FOLDER is that of `chancery gateway init`. CHECK_FILE has the member `check` as JSON. The dialect is that of nginx and
 * HAProxy. Start the gateway after it, or start it again.
 */
import { readFile, rename, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'

const [folder = 'gateway', checkFile = 'check.json', address = '127.0.0.1:8081'] = process.argv.slice(2)
const [policyFile, settingsFile] = [resolve(folder, 'policy.json'), resolve(folder, 'gateway.env')]

const policy = JSON.parse(await readFile(policyFile, 'utf8'))
policy.check = JSON.parse(await readFile(checkFile, 'utf8'))
await replace(policyFile, `${JSON.stringify(policy, null, 2)}\n`)

const others = (await readFile(settingsFile, 'utf8')).split('\n').filter((line) => !line.startsWith('GATEWAY_CHECK_'))
const own = [`GATEWAY_CHECK_ADDR=${address}`, 'GATEWAY_CHECK_DIALECT=original', '']
await replace(settingsFile, [...others.filter((line) => line !== ''), ...own].join('\n'))
console.log(`The gateway will answer proxies at http://${address}/check.`)

/** Replaces a file in one step: the gateway never reads half a file. */
async function replace(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, text, { mode: 0o600 })
  await rename(`${file}.new`, file)
}
