import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type NoteKey, writePrivateKeyFile, writeWitnessKey } from '@chancery/protocol'
import { testSeed, testSigner } from '@chancery/testkit'
import { createWitnessServer } from '../../../../../cli/src/commands/evidence/witness-listen.ts'
import { type WitnessEvent, WitnessService } from '../../../../../cli/src/commands/evidence/witness-service.ts'
import { WitnessStore } from '../../../../../cli/src/commands/evidence/witness-store.ts'

/** The witness of the command line on a loopback port, with its store in a folder. */
export class TestWitness {
  readonly #server: Server
  readonly #folder: string
  readonly store: WitnessStore
  readonly events: WitnessEvent[]
  readonly verifierKey: string
  /** For NA_LOG_WITNESSES. */
  readonly setting: string

  private constructor(
    parts: Pick<TestWitness, 'store' | 'events' | 'verifierKey'> & { readonly server: Server; readonly folder: string },
  ) {
    this.#server = parts.server
    this.#folder = parts.folder
    this.store = parts.store
    this.events = parts.events
    this.verifierKey = parts.verifierKey
    this.setting = `${parts.verifierKey} http://127.0.0.1:${(parts.server.address() as AddressInfo).port}/`
  }

  static async start(name: string, logs: readonly NoteKey[], unixSeconds: () => number): Promise<TestWitness> {
    const signer = await testSigner(name, `witness ${name}`)
    const folder = await mkdtemp(join(tmpdir(), 'chancery-witness-'))
    const store = await WitnessStore.open(folder, true)
    const events: WitnessEvent[] = []
    const service = new WitnessService({ store, signer, logs, unixSeconds, report: (event) => events.push(event) })
    const server = createWitnessServer(service, (error) => {
      throw error
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const verifierKey = writeWitnessKey({ name, publicKey: signer.publicKey })
    return new TestWitness({ store, events, verifierKey, server, folder })
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
    this.store.close()
    await rm(this.#folder, { recursive: true })
  }
}

/** A private key file of a log, and its public key. */
export async function makeLogKey(name: string): Promise<{ readonly file: string; readonly publicKey: string }> {
  const file = join(await mkdtemp(join(tmpdir(), 'chancery-log-key-')), 'log.key')
  await writeFile(file, writePrivateKeyFile(testSeed(name), 'log'), { mode: 0o600 })
  return { file, publicKey: (await testSigner('log', name)).publicKey }
}
