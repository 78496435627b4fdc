import { SECURITY_HEADERS } from '@chancery/contract'
import { readJsonBytes } from '@chancery/protocol'
import { fastify } from 'fastify'
import { HOST } from './conditions.ts'

/** E of the limit formula: the framework reads the same body with the same strict reader and sends it back. */
process.once('disconnect', () => process.exit(0))
const { port } = JSON.parse(process.argv[2] ?? '') as { port: number }
const app = fastify({ logger: false, keepAliveTimeout: 5000 })
app.removeAllContentTypeParsers()
app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => {
  readJsonBytes(body as Buffer)
  done(null, body)
})
app.post('*', (request, reply) =>
  reply.headers(SECURITY_HEADERS).header('content-type', 'application/json').send(request.body),
)
app.get('/healthz', () => ({ ok: true }))
await app.listen({ host: HOST, port })
