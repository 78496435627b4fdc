/** A tile that the last checkpoint covers is missing or too short. */
export class TileMissingError extends Error {
  override readonly name = 'TileMissingError'
}
