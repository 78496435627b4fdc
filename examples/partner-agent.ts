/**
 * An agent that calls a service of a partner network once, and prints the response.
 *
 *   NA_URL, GENESIS, NODE_HOME, INVITE   as in node.ts
 *   ATTESTATION                          of its node key, issued by its own authority
 *   SERVICE                              address of the service, which is also its audience
 */
import { readFile } from 'node:fs/promises'
import { Node, readAttestation, readJson } from '@chancery/sdk'
import { FileNodeStore, readGenesisFile } from '@chancery/sdk/nodejs'

const { NA_URL = 'http://127.0.0.1:8444', GENESIS = 'genesis.json', NODE_HOME = 'node', INVITE } = process.env
const { ATTESTATION = 'attestation.json', SERVICE = 'http://127.0.0.1:8445' } = process.env

const node = await Node.join({
  url: NA_URL,
  genesis: await readGenesisFile(GENESIS),
  store: new FileNodeStore(NODE_HOME),
  ...(INVITE === undefined ? {} : { invite: INVITE }),
})
// Not JSON.parse: it changes the form of numbers, which is part of the signed record.
const attestation = readAttestation(readJson(await readFile(ATTESTATION, 'utf8')))
const call = node.fetchAs(SERVICE, { attestation })
const response = await call(`${SERVICE}/accounts/freight-1`)
console.log(`${response.status} ${await response.text()}`)
await node.stop()
process.exitCode = response.ok ? 0 : 1
