/** A tile that the last checkpoint covers is missing or too short. */
export class TileMissing extends Error {
  override readonly name = 'TileMissing'
}
