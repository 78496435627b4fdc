/**
 * Sends one signed request with the key and the certificate that `chancery join` wrote, and prints the response.
 *
 *   NODE_HOME   folder of the node
 *   SERVICE     address of the service, which is also its audience
 */
import { readFile } from 'node:fs/promises'
import { readJoinCertificate } from '@chancery/protocol'
import { readJson, signingFetch } from '@chancery/sdk'
import { readSignerFile } from '@chancery/sdk/nodejs'

const { NODE_HOME = 'node', SERVICE = 'http://127.0.0.1:8444' } = process.env

const signer = await readSignerFile(`${NODE_HOME}/node.key`)
const certificate = readJoinCertificate(readJson(await readFile(`${NODE_HOME}/certificate.json`, 'utf8')))
const call = signingFetch(() => ({ audience: SERVICE, signer, certificate }))
const response = await call(`${SERVICE}/stock`)
console.log(`${response.status} ${(await response.text()).trim()}`)
process.exitCode = response.ok ? 0 : 1
