// Health check for an image without shell and curl. Requests one URL and exits with 0 when the status is 200.
// URL: the argument, else CHANCERY_PROBE_URL, else /healthz of an authority with default settings.
// Without fetch: on a slow machine (emulated) loading it took longer than the limit below.
import { once } from 'node:events'

const url = process.argv[2] ?? process.env.CHANCERY_PROBE_URL ?? 'http://127.0.0.1:8443/healthz'
try {
  const { get } = await import(url.startsWith('https:') ? 'node:https' : 'node:http')
  const [response] = await once(get(url, { signal: AbortSignal.timeout(2500) }), 'response')
  response.destroy()
  if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`)
} catch (error) {
  process.stderr.write(`${url}: ${error.message}\n`)
  process.exitCode = 1
}
