/**
 * Sends one signed request with the key and the certificate that `chancery join` wrote, and prints the response.
 *
 *   NODE_HOME   folder of the node
 *   SERVICE     address of the service, which is also its audience
 *   EXPECT      status to wait for: repeats the request every second, for at most 60 seconds
 */
import { readFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { readJson, createSigningFetch } from '@chancery/sdk'
import { readSignerFile } from '@chancery/sdk/nodejs'
import { readJoinCertificate } from '@chancery/sdk/protocol'

const { NODE_HOME = 'node', SERVICE = 'http://127.0.0.1:8444', EXPECT } = process.env
const end = performance.now() + 60_000

const signer = await readSignerFile(`${NODE_HOME}/node.key`)
const certificate = readJoinCertificate(readJson(await readFile(`${NODE_HOME}/certificate.json`, 'utf8')))
const call = createSigningFetch({ signer, certificate })

let response = await call(`${SERVICE}/stock`)
while (EXPECT !== undefined && String(response.status) !== EXPECT && performance.now() < end) {
  await response.body?.cancel()
  await pause(1000)
  response = await call(`${SERVICE}/stock`)
}
console.log(`${response.status} ${(await response.text()).trim()}`)
const isExpected = EXPECT === undefined ? response.ok : String(response.status) === EXPECT
process.exitCode = isExpected ? 0 : 1
