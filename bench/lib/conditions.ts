/**
 * The conditions of every benchmark here, stated once.
 *
 * - One machine, loopback only. Product, baseline, database and load generator share its cores, so figures are ratios
 *   of one run; rates are good for that run only.
 * - Every process runs with the Node of the runner. The product is a real authority process (the `start` of its
 *   `commands`, from sources under `--conditions=development`, otherwise from `dist`) with NODE_ENV=production,
 *   LOG_LEVEL=warn, RATE_LIMIT_STORE=memory and every limit raised to 100,000,000 per minute.
 * - PostgreSQL is the local server with its own settings (synchronous commit on), one fresh database per server process,
 *   dropped afterwards. SQLite is a fresh file with the product's own pragmas.
 * - The baseline is fastify with one bare handler. Body and response headers are copied from an answer
 *   of the product before the run, and its keep-alive time is the product's, so both send the same headers; that is
 *   checked. The request id is fresh in both. Its body is constant text, the quickest form the framework has.
 * - The baseline of a signed read also reads the body (there is none, so that costs the look at two headers), verifies
 *   one Ed25519 signature over a constant message of the signed size with the library in use, and inserts one nonce
 *   row by its own named prepared statement, over a pool as large as the product's.
 * - Closed loop: CONNECTIONS kept connections, one request in flight on each, requests built before the clock starts.
 *   Signed requests have fresh nonces and are signed before the slice; both contenders get requests of the same bytes.
 * - Contenders take turns. In a round each has one second, in TURNS slices: a, b, c, then c, b, a, and again, so that a
 *   machine that grows quicker or slower meanwhile treats all alike. What counts is the median of the ratios inside the
 *   rounds.
 *   Rounds in which other processes (or a hypervisor) took more than MAX_FOREIGN_CORES are discarded and repeated while
 *   the time lasts.
 */

/** More than the pool of the database has, less than the requests a process lets in. */
export const CONNECTIONS = 64

export const DEFAULT_ROUNDS = 9
export const DEFAULT_ROUND_SECONDS = 1
/** Slices of one contender in one round. Even, so that every order is met by its mirror image. */
export const TURNS = 4
export const WARM_UP_SECONDS = 2

export const MAX_FOREIGN_CORES = 0.2

/** Time in rounds, discarded ones included: repeating must not make a benchmark endless. */
export const MEASURE_SECONDS_MAX = 72

/** Requests of one slice at most, so that memory is bounded however quick a server is. */
export const REQUESTS_PER_SLICE_MAX = 200_000

/** Signing costs more than answering; a slice that uses them up ends early and is judged by its own length. */
export const SIGNED_REQUESTS_PER_SECOND = 9000

/** Per minute: no run can reach it. */
export const RAISED_LIMIT = 100_000_000

export const HOST = '127.0.0.1'

export const POSTGRES_SERVER = 'postgresql://postgres@127.0.0.1:5432'
