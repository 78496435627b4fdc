import { readFile } from 'node:fs/promises'
import { type IncomingMessage, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ERRORS, type ErrorCode } from '@chancery/contract'
import {
  draftPolicyManifest,
  defaultPolicyTerms,
  readJsonBytes,
  seedSigner,
  signList,
  verifyOperatorRequest,
  writeJson,
} from '@chancery/protocol'
import type { JsonObject, JsonValue, PolicyManifest } from '@chancery/protocol'

export interface RecordedCall {
  readonly route: string
  readonly body: JsonObject
  readonly isSigned: boolean
}

export interface Reply {
  readonly status?: number
  readonly json: JsonValue
  readonly headers?: Readonly<Record<string, string>>
}

export interface FakeAuthority {
  readonly url: string
  /** Without requests for /sovereign.json, and for /genesis of a given file: the server answers both itself. */
  readonly asked: RecordedCall[]
  /** What /sovereign.json names. */
  surfaces: Readonly<Record<string, string>>
  close(): Promise<void>
}

/** A fake authority: it checks operator signatures like a real one; `reply` gives the responses. */
export async function startFakeAuthority(
  keys: {
    readonly audience: string
    readonly operator: string
    /** Path of the block that it serves. Every command asks for it first when one is configured. */
    readonly genesis?: string
  },
  reply: (asked: RecordedCall, count: number) => Reply,
): Promise<FakeAuthority> {
  const asked: RecordedCall[] = []
  const server = createServer((request, response) => {
    void (async () => {
      const seen = await read(request, keys)
      if (seen.route === 'GET /sovereign.json') {
        response.end(writeJson(metadataOf(keys.audience, fake.surfaces)))
        return
      }
      if (seen.route === 'GET /genesis' && keys.genesis !== undefined) {
        response.end(await readFile(keys.genesis))
        return
      }
      asked.push(seen)
      const isRefused = seen.route.includes('/admin/') && !seen.isSigned
      const { status = 200, json, headers = {} } = isRefused ? refused('admin_auth_failed') : reply(seen, asked.length)
      response.writeHead(status, { 'X-Request-ID': 'r-1', Date: 'Wed, 02 Jan 2030 03:00:00 GMT', ...headers })
      response.end(writeJson(json))
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = async (): Promise<void> => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const fake: FakeAuthority = { url, asked, surfaces: { dry_run: `${url}/admin/revoke` }, close }
  return fake
}

function metadataOf(key: string, supported_surfaces: Readonly<Record<string, string>>): JsonObject {
  return {
    sovereign_id: 'E',
    network_name: 'E',
    network_version: 'v0.1',
    endpoint: 'http://na.example',
    network_authority: { public_key: key, valid_from: '2030-01-01T00:00:00Z', valid_to: '2030-04-01T00:00:00Z' },
    root_public_key: key,
    supported_surfaces,
  }
}

async function read(request: IncomingMessage, keys: { audience: string; operator: string }): Promise<RecordedCall> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const bytes = Buffer.concat(chunks)
  const body = (bytes.length === 0 ? {} : readJsonBytes(bytes)) as JsonObject
  const [path = '', search = ''] = (request.url ?? '').split('?')
  const query = Object.fromEntries([...new URLSearchParams(search)].map(([name, value]) => [name, [value]]))
  const header = (name: string): string => String(request.headers[`x-admin-${name}`] ?? '')
  const facts = {
    method: request.method ?? '',
    path: decodeURIComponent(path),
    query,
    audience: keys.audience,
    body,
    key_id: header('key-id'),
    timestamp: header('timestamp'),
    nonce: header('nonce'),
  }
  const isSigned = await verifyOperatorRequest(facts, header('signature'), keys.operator)
  return { route: `${request.method} ${request.url}`, body, isSigned }
}

export function refused(code: ErrorCode, details: JsonObject = {}): Reply {
  const { status, message } = ERRORS[code]
  return { status, json: { error: { code, message, details, request_id: 'r-1' } } }
}

/** A manifest as the owner of this seed would sign it. */
export async function signedPolicy(seed: string, policy_id: string): Promise<PolicyManifest> {
  const signer = await seedSigner('na-local', seed)
  const facts = { policy_id, issued_at: '2030-01-02T03:00:00Z', issued_by: signer.keyId, terms: defaultPolicyTerms() }
  return signList(draftPolicyManifest(facts), signer)
}
