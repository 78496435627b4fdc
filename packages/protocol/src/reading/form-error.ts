/** A value that does not have its form. Names the place and the rule, never the value. */
export class FormError extends Error {
  override readonly name = 'FormError'
  /** Dotted place inside the record, for example `routing.max_hops`; empty for the record itself. */
  readonly field: string
  readonly problem: string

  constructor(field: string, problem: string) {
    super(field === '' ? problem : `${field}: ${problem}`)
    this.field = field
    this.problem = problem
  }
}

/** As a place: none is wanted, because the error is only caught. Nothing inside gets a place either. */
export const NO_PLACE = '\u0000'

/** The place of a member inside another place. */
export function placeOf(field: string, name: string): string {
  if (field === '') return name
  return field === NO_PLACE ? field : `${field}.${name}`
}
