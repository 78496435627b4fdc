/**
 * An agent that calls a service of a partner network once, and prints the response.
 *
 *   NA_URL, GENESIS, NODE_HOME, INVITE   as in node.ts
 *   ATTESTATION                          of its node key, issued by its own authority
 *   SERVICE                              address of the service, which is also its audience
 */
import { joinNetwork } from '@chancery/sdk'
import { FileNodeStore, readAttestationFile, readGenesisFile } from '@chancery/sdk/nodejs'

const { NA_URL = 'http://127.0.0.1:8444', GENESIS = 'genesis.json', NODE_HOME = 'node', INVITE } = process.env
const { ATTESTATION = 'attestation.json', SERVICE = 'http://127.0.0.1:8445' } = process.env

await using node = await joinNetwork({
  url: NA_URL,
  genesis: await readGenesisFile(GENESIS),
  store: new FileNodeStore(NODE_HOME),
  attestation: await readAttestationFile(ATTESTATION),
  ...(INVITE === undefined ? {} : { invite: INVITE }),
})
const response = await node.fetch(`${SERVICE}/accounts/freight-1`)
console.log(`${response.status} ${await response.text()}`)
process.exitCode = response.ok ? 0 : 1
