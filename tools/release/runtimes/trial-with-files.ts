import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAuthorizer, joinNetwork, trustNetworks } from '@chancery/sdk'
import { FileNodeStore, FileOutbox, authenticate } from '@chancery/sdk/nodejs'
import { type TrialInput, runTrial } from './trial.ts'

/** The trial in runtimes with the modules of Node.js: key store, outbox and a server. Prints one line of JSON. */

const input = JSON.parse(process.argv[2] ?? '{}') as TrialInput

async function tryFiles(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'chancery-runtime-'))
  const outbox = await FileOutbox.open(join(folder, 'outbox'))
  await outbox.close()
  const { url, genesis, invites } = input
  const node = await joinNetwork({ url, genesis, store: new FileNodeStore(join(folder, 'node')), invite: invites[1] })
  const trust = await trustNetworks([{ url, genesis }])
  const audience = 'https://service.example'
  const server = createServer(
    authenticate(createAuthorizer({ audience, trust }), (_request, response, { caller }) =>
      response.end(caller.publicKey),
    ),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const refused = await fetch(address)
    const accepted = await node.fetchWith({ audience })(address, { method: 'POST', body: 'text' })
    const isRight = refused.status === 401 && accepted.status === 200 && (await accepted.text()) === node.publicKey
    return isRight ? 'ok' : `without proof ${refused.status}, with proof ${accepted.status}`
  } finally {
    server.close()
    await Promise.all([trust.close(), node.stop()])
    await rm(folder, { recursive: true, force: true })
  }
}

console.log(JSON.stringify(await runTrial(input, { files_and_server: tryFiles })))
process.exit(0)
