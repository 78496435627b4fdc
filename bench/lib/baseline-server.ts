import { randomUUID } from 'node:crypto'
import { REQUEST_ID_HEADER, SERVER_LIMITS } from '@chancery/contract'
import { type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { openBareWork } from './baseline-work.ts'
import type { BaselineDocument, BaselineTask } from './baseline-task.ts'
import { HOST } from './conditions.ts'

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
