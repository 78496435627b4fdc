// Asks one address and ends with 0 when it says yes: the health check of an image that has no shell and no curl.
// Without an argument CHANCERY_PROBE_URL, else the liveness of an authority with default settings.
const url = process.argv[2] ?? process.env.CHANCERY_PROBE_URL ?? 'http://127.0.0.1:8443/healthz'
try {
  const answer = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(2500) })
  process.exitCode = answer.status === 200 ? 0 : 1
} catch {
  process.exitCode = 1
}
