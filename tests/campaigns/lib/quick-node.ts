/**
 * Loaded before anything else in a process of nodes, so that a key succession takes half a minute. Heartbeats come every
 * five seconds, which is the quickest pace a node takes and quicker than an authority may ask for. What a fleet spreads
 * over minutes is spread over seconds.
 */
const SPREAD = 0.04
const random = Math.random.bind(Math)
Math.random = () => SPREAD * random()

const real = globalThis.fetch.bind(globalThis)
globalThis.fetch = async (input, init) => {
  const answer = await real(input, init)
  const url = input instanceof Request ? input.url : String(input)
  if (!url.endsWith('/heartbeat') || !answer.ok) return answer
  // The pace is not signed.
  const text = (await answer.text()).replace(/("next_heartbeat_seconds":)\d+/, '$15')
  return new Response(text, { status: answer.status, headers: answer.headers })
}
