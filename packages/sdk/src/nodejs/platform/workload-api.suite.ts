import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Server, ServerCredentials, status } from '@grpc/grpc-js'
import type { Metadata, sendUnaryData, ServerUnaryCall, ServerWritableStream } from '@grpc/grpc-js'

/** A field of a message, written by hand: not by the code that is tested. */
export function field(number: number, value: string | Buffer): Buffer {
  const bytes = Buffer.from(value)
  const length: number[] = []
  for (let rest = bytes.length; ; rest >>= 7) {
    length.push(rest > 127 ? (rest & 127) | 128 : rest)
    if (rest <= 127) break
  }
  return Buffer.concat([Buffer.from([number * 8 + 2, ...length]), bytes])
}

const raw = (bytes: Buffer): Buffer => bytes
const method = (name: string, responseStream: boolean) => ({
  path: `/SpiffeWorkloadAPI/${name}`,
  requestStream: false,
  responseStream,
  requestSerialize: raw,
  requestDeserialize: raw,
  responseSerialize: raw,
  responseDeserialize: raw,
})

export interface WorkloadApiAnswers {
  /** The response to a request for a JWT-SVID, as bytes. */
  jwt?: (request: Buffer) => Promise<Buffer> | Buffer
  x509?: () => Buffer
  /** The first calls fail with this. */
  failures?: number[]
}

/** The Workload API of SPIFFE by the library of the gRPC project, on a socket. */
export class TestWorkloadApi {
  readonly answers: WorkloadApiAnswers = {}
  readonly metadata: string[] = []
  readonly #folder = mkdtempSync(join(tmpdir(), 'chancery-workload-'))
  readonly #server = new Server()

  get socket(): string {
    return `unix://${join(this.#folder, 'agent.sock')}`
  }

  async start(): Promise<void> {
    const service = { FetchJWTSVID: method('FetchJWTSVID', false), FetchX509SVID: method('FetchX509SVID', true) }
    this.#server.addService(service, {
      FetchJWTSVID: (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) => {
        const failure = this.#refuse(call.metadata)
        if (failure !== undefined) done(failure)
        else
          void Promise.resolve(this.answers.jwt?.(call.request) ?? Buffer.alloc(0)).then((bytes) => done(null, bytes))
      },
      FetchX509SVID: (call: ServerWritableStream<Buffer, Buffer>) => {
        const failure = this.#refuse(call.metadata)
        if (failure !== undefined) call.destroy(Object.assign(new Error(failure.details), failure))
        // The stream stays open, as that of an agent, which sends the next SVID later.
        else call.write(this.answers.x509?.() ?? Buffer.alloc(0))
      },
    })
    await new Promise<void>((done, fail) =>
      this.#server.bindAsync(this.socket, ServerCredentials.createInsecure(), (error) =>
        error === null ? done() : fail(error),
      ),
    )
  }

  stop(): void {
    this.#server.forceShutdown()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #refuse(metadata: Metadata): { code: number; details: string } | undefined {
    const [header] = metadata.get('workload.spiffe.io')
    this.metadata.push(String(header))
    if (header !== 'true') return { code: status.INVALID_ARGUMENT, details: 'security header missing' }
    const code = this.answers.failures?.shift()
    return code === undefined ? undefined : { code, details: 'not ready' }
  }
}
