import { randomBytes, randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { REQUEST_ID_HEADER, SERVER_LIMITS } from '@chancery/contract'
import { fastify, type FastifyReply, type FastifyRequest } from 'fastify'
import pg from 'pg'
import { ed25519 } from '../../packages/protocol/src/signing/platform-node.ts'
import type { BaselineDocument, BaselineTask } from './baseline-task.ts'
import { HOST } from './conditions.ts'

/** As large as the product's. */
const POOL_SIZE = 20
const EXPIRES_AT = '2099-01-01T00:00:00.000000Z'

/**
 * Reads the body, verifies one bare signature, inserts one bare nonce: the minimum of any signed and replay-safe call.
 */
async function openBareWork(
  work: NonNullable<BaselineTask['work']>,
): Promise<(request: IncomingMessage) => Promise<void>> {
  const pool = new pg.Pool({ connectionString: work.databaseUrl, max: POOL_SIZE, keepAlive: true })
  await pool.query('create table nonces (claim bytea primary key, expires_at text not null)')
  const signer = await ed25519.signer(randomBytes(32))
  const message = randomBytes(work.messageBytes)
  const signature = await signer.sign(message)
  return async (request) => {
    await readBytes(request)
    if (ed25519.verify(signer.publicKey, message, signature) !== true) throw new Error('the signature must verify')
    const { rowCount } = await pool.query({
      name: 'insert-nonce',
      text: 'insert into nonces (claim, expires_at) values ($1, $2) on conflict do nothing',
      values: [randomBytes(16), EXPIRES_AT],
    })
    if (rowCount !== 1) throw new Error('the nonce must be fresh')
  }
}

async function readBytes(request: IncomingMessage): Promise<Buffer | undefined> {
  const { headers } = request
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return undefined
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks)
}

process.once('disconnect', () => process.exit(0))

const task = JSON.parse(process.argv[2] ?? '') as BaselineTask
const app = fastify({ logger: false, keepAliveTimeout: SERVER_LIMITS.keepAliveTimeoutSeconds * 1000 })

const work = task.work === undefined ? undefined : await openBareWork(task.work)
for (const document of task.documents) {
  if (work === undefined) app.get(document.path, (_request, reply) => answer(reply, document))
  else {
    app.get(document.path, async (request: FastifyRequest, reply) => {
      await work(request.raw)
      return answer(reply, document)
    })
  }
}

function asItIs(body: unknown): string {
  return String(body)
}

function answer(reply: FastifyReply, document: BaselineDocument): FastifyReply {
  reply.headers(document.headers).header(REQUEST_ID_HEADER, randomUUID())
  // Without a serializer the framework would add a charset to the type.
  return reply.serializer(asItIs).send(document.body)
}

app.get('/healthz', () => ({ ok: true }))
await app.listen({ host: HOST, port: task.port })
