// Health check for an image without shell and curl. Requests one URL and exits with 0 when the status is 200.
// URL: the argument, else CHANCERY_PROBE_URL, else /healthz of an authority with default settings.
const url = process.argv[2] ?? process.env.CHANCERY_PROBE_URL ?? 'http://127.0.0.1:8443/healthz'
try {
  const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(2500) })
  process.exitCode = response.status === 200 ? 0 : 1
} catch {
  process.exitCode = 1
}
