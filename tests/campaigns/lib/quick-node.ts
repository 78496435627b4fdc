/**
 * Loaded first in a process of nodes, so that a key succession takes half a minute. Heartbeats are sent every five
 * seconds. A node accepts no shorter interval, and an authority may not request one this short. Delays that nodes
 * spread over minutes are spread over seconds.
 */
const SPREAD = 0.04
const random = Math.random.bind(Math)
Math.random = () => SPREAD * random()

const real = globalThis.fetch.bind(globalThis)
globalThis.fetch = async (input, init) => {
  const answer = await real(input, init)
  const url = input instanceof Request ? input.url : String(input)
  if (!url.endsWith('/heartbeat') || !answer.ok) return answer
  // The interval is not signed.
  const text = (await answer.text()).replace(/("next_heartbeat_seconds":)\d+/, '$15')
  return new Response(text, { status: answer.status, headers: answer.headers })
}
