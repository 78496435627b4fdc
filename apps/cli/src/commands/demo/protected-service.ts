import { createServer } from 'node:http'
import { type JoinCertificate, type Signer, readJoinCertificate, readJson } from '@chancery/protocol'
import { createGatewayClient, signRequest } from '@chancery/sdk'
import { httpNodeProof } from '@chancery/sdk/nodejs'
import { OWNER_ONLY, replaceFile } from '../../files/files.ts'

/** A node that calls the service. */
export interface DemoCaller {
  readonly signer: Signer
  /** Returns its current certificate. */
  readonly certificate: () => Promise<JoinCertificate>
  /** File for the headers of its next request. */
  readonly headersFile: string
}

export interface ProtectedServiceOptions {
  readonly host: string
  readonly port: number
  readonly gateway: { readonly url: string; readonly token: string }
  readonly callers: readonly DemoCaller[]
}

export const PATH = '/manifest'
const MANIFEST = { ship: 'Aurora', berth: 7, containers: 412 }
/** A proof is accepted for 60 s. */
const SIGN_AGAIN_MS = 20_000
const MAX_HEADER_BYTES = 24_576

/**
 * Starts a small service. A caller proves its key with each request, and the service asks the gateway whether the
 * certificate of the caller is trusted. Returns the address.
 */
export async function startProtectedService(options: ProtectedServiceOptions): Promise<string> {
  const { host, port, gateway, callers } = options
  const url = `http://${host}:${port}`
  const client = createGatewayClient(gateway)
  const trust = { evaluate: (certificate: JoinCertificate) => client.verify(certificate) }
  const serve = httpNodeProof({ audience: url, trust }, (request, response) => {
    const text = JSON.stringify({ caller: request.node.certificate.cert_id, manifest: MANIFEST })
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(`${text}\n`)
  })
  const signAll = async (): Promise<void> => {
    for (const caller of callers) await writeHeaders(caller, url)
  }
  const server = createServer({ maxHeaderSize: MAX_HEADER_BYTES }, (request, response) => {
    // A proof serves once. The files have new ones before this caller has its response.
    void signAll().then(
      () => serve(request, response),
      () => response.writeHead(503).end(),
    )
  })
  await signAll()
  // A failure, for example of a full disk, must not end the demo. The next round writes the files again.
  setInterval(() => void signAll().catch(() => undefined), SIGN_AGAIN_MS).unref()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  return url
}

/** Signs the next request of a caller and writes its headers for `curl -H @FILE`. */
async function writeHeaders({ signer, certificate, headersFile }: DemoCaller, url: string): Promise<void> {
  const request = { method: 'GET', url: `${url}${PATH}`, audience: url }
  const headers = await signRequest(request, { signer, certificate: await certificate() })
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\n`)
  await replaceFile(headersFile, lines.join(''), OWNER_ONLY)
}

export function readCertificate(text: string): JoinCertificate {
  return readJoinCertificate(readJson(text))
}
