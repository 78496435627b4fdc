/**
 * The conditions of every benchmark here, stated once.
 *
 * - One machine, loopback only. Product, baseline, database and load generator share its cores, so figures are ratios
 *   of one run; rates are valid for that run only.
 * - Every process runs with the Node of the runner. The product is a real authority process (the `start` of its
 *   `commands`, from sources under `--conditions=development`, otherwise from `dist`) with NODE_ENV=production,
 *   LOG_LEVEL=warn, RATE_LIMIT_STORE=memory and every limit raised to 100,000,000 per minute.
 * - PostgreSQL is the local server with its own settings (synchronous commit on), one new database per server process,
 *   dropped afterwards. SQLite is a new file with the product's own pragmas.
 * - The baseline is fastify with one bare handler. Body and response headers are copied from a response
 *   of the product before the run, and its keep-alive time is the product's, so both send the same headers; that is
 *   checked. The request id is new in both. Its body is constant text, the fastest form of the framework.
 * - The baseline of a signed read also reads the body (there is none, so it only checks two headers), verifies
 *   one Ed25519 signature over a constant message of the signed size with the library in use, and inserts one nonce
 *   row by its own named prepared statement, over a pool as large as the product's.
 * - Closed loop: CONNECTIONS keep-alive connections, one request in flight on each, requests built before the clock
 *   starts. Signed requests have new nonces and are signed before the slice; both servers get requests of the same
 *   bytes.
 * - The servers alternate. In a round each has one second, in TURNS slices: a, b, c, then c, b, a, and again. So a
 *   machine whose speed changes treats all alike. The result is the median of the ratios inside the rounds. Rounds in
 *   which other processes (or a hypervisor) took more than MAX_FOREIGN_CORES are discarded and repeated within the time
 *   limit.
 */

/** More than the pool of the database has, less than the requests a process admits. */
export const CONNECTIONS = 64

export const DEFAULT_ROUNDS = 9
export const DEFAULT_ROUND_SECONDS = 1
/** Slices of one server in one round. Even, so that every order is followed by its reverse. */
export const TURNS = 4
export const WARM_UP_SECONDS = 2

export const MAX_FOREIGN_CORES = 0.2

/** Maximum time of all rounds, discarded ones included. */
export const MEASURE_SECONDS_MAX = 72

/** Maximum requests of one slice, which limits memory. */
export const REQUESTS_PER_SLICE_MAX = 200_000

/** Signing costs more than answering. A slice that uses up its requests ends early; its rate uses its real length. */
export const SIGNED_REQUESTS_PER_SECOND = 9000

/** Per minute: no run can reach it. */
export const RAISED_LIMIT = 100_000_000

export const HOST = '127.0.0.1'

export const POSTGRES_SERVER = 'postgresql://postgres@127.0.0.1:5432'
