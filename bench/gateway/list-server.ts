import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import {
  draftCrl,
  draftJoinCertificate,
  draftRevocationFeed,
  seedSigner,
  signList,
  writeInstant,
  writeJson,
  writePrivateKeyFile,
} from '@chancery/protocol'
import type { Signer } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import type { BenchOptions } from '../lib/bench.ts'
import { HOST } from '../lib/conditions.ts'
import type { BenchNetwork } from '../lib/network.ts'

/** Serves the documents that readers fetch from an authority. */
export class ListServer {
  readonly directory: string
  readonly cleanup: BenchOptions['cleanup']
  readonly genesisFile: string
  readonly #network: BenchNetwork
  readonly #authority: Signer
  #list = Buffer.alloc(0)
  #feed = ''
  url = ''
  sequence = 0
  listBytes = 0

  private constructor(network: BenchNetwork, authority: Signer, { directory, cleanup }: BenchOptions) {
    this.#network = network
    this.#authority = authority
    this.directory = directory
    this.cleanup = cleanup
    this.genesisFile = network.genesisFile
  }

  static async open(network: BenchNetwork, authority: Signer, options: BenchOptions): Promise<ListServer> {
    const lists = new ListServer(network, authority, options)
    const feed = draftRevocationFeed({
      feed_id: 'feed-1',
      issuer_sovereign_id: network.name,
      sequence: 1,
      issued_at: writeInstant(systemClock.now()),
      issued_by: authority.keyId,
      reasons: new Map(),
    })
    lists.#feed = writeJson(await signList(feed, authority))
    const server = createServer((request, response) => {
      request.resume().on('end', () => lists.#respond(request.url ?? '', response))
    })
    await new Promise<void>((done) => server.listen(0, HOST, done))
    options.cleanup.add(() => {
      server.closeAllConnections()
      server.close()
    })
    lists.url = `http://${HOST}:${(server.address() as AddressInfo).port}`
    return lists
  }

  /** Publishes the next list, with this many entries. */
  async publish(entries: number): Promise<void> {
    const sequence = this.sequence + 1
    const now = systemClock.now()
    const [issuer, revoked_at] = [this.#authority.keyId, writeInstant(now)]
    const draft = draftCrl({
      crl_id: `crl-${sequence}`,
      sequence,
      issuer,
      now,
      entries: Array.from({ length: entries }, (_, n) => ({
        certificate_id: idOf(n + sequence),
        revoked_at,
        reason: 'cessation_of_operation',
        issuer,
      })),
    })
    const text = writeJson(await signList(draft, this.#authority))
    this.listBytes = text.length
    this.#list = gzipSync(text, { level: 1 })
    this.sequence = sequence
  }

  /** Creates the folder of a node that has joined. */
  async makeHome(name: string): Promise<string> {
    const home = join(this.directory, name)
    const seed = Buffer.alloc(32, 7).toString('base64')
    const draft = draftJoinCertificate({
      cert_id: 'cert-of-the-bench',
      node_public_key: (await seedSigner('node', seed)).publicKey,
      network_name: this.#network.name,
      roles: ['role:client'],
      issued_by: this.#authority.keyId,
      now: systemClock.now(),
      validityHours: 168,
    })
    await mkdir(home)
    await copyFile(this.genesisFile, join(home, 'genesis.json'))
    await writeFile(join(home, 'certificate.json'), writeJson(await signList(draft, this.#authority)))
    await writeFile(join(home, 'node.key'), writePrivateKeyFile(seed, 'node'), { mode: 0o600 })
    const paths = ['home = "."', 'genesis = "genesis.json"', 'node_private_key = "node.key"']
    const lines = [`[network]\nna_endpoint = "${this.url}"\n[paths]`, ...paths, 'node_certificate = "certificate.json"']
    await writeFile(join(home, 'chancery.toml'), `${lines.join('\n')}\n`)
    return home
  }

  #respond(path: string, response: ServerResponse): void {
    switch (path) {
      case '/crl':
        response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': this.#list.length }).end(this.#list)
        return
      case '/sovereign-revocation-feed':
        response.end(this.#feed)
        return
      case '/healthz':
        response.end('{"status":"ok"}')
        return
      case '/heartbeat': {
        const server_time = writeInstant(systemClock.now())
        response.end(
          writeJson({
            status: 'ok',
            server_time,
            next_heartbeat_seconds: 1,
            crl_sequence: this.sequence,
            policy_id: null,
          }),
        )
        return
      }
      default:
        response
          .writeHead(404)
          .end('{"error":{"code":"not_found","message":"There is no such thing.","details":{},"request_id":"r-1"}}')
    }
  }
}

/** Returns an id with the length of a real one. */
function idOf(n: number): string {
  return `cert-${(n * 2_654_435_761).toString(16).padStart(32, '0')}`
}
