import { setTimeout as pause } from 'node:timers/promises'
import { createAuthorityClient } from '@chancery/sdk/authority'
import { FollowedParty } from '@chancery/sdk/internal'
import { readGenesisFile } from '@chancery/sdk/nodejs'

// A program that verifies certificates: reads the lists of an authority, prints each, and runs until it is stopped.
const [url = '', genesisFile = ''] = process.argv.slice(2)
process.once('SIGTERM', () => process.exit(0))
const genesis = await readGenesisFile(genesisFile)
const party = await FollowedParty.open({ client: createAuthorityClient({ url }), genesis })
for (;;) {
  process.stdout.write(`list ${party.sequenceOf('bench-authority')}.\n`)
  await pause(1000)
  await party.refresh()
}
