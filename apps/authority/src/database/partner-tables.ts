/** Partners and what was read from them. */
export interface PartnerTables {
  partners: {
    sovereign_id: string
    url: string
    pin_json: string
    import_feeds: number
    interval_seconds: number
    max_feed_age_seconds: number | null
    allow_http: number
    paused: number
    label: string | null
    added_at: string
    added_by: string
    open_alarms: number
    last_pull_at: string | null
    last_outcome: string | null
    last_duration_ms: number | null
    last_good_pull_at: string | null
    next_pull_at: string
    failures: number
    /** The pull that is under way, and when it counts as given up. */
    pull_token: string | null
    pull_until: string | null
    /** When an operator last asked for a pull. */
    asked_at: string | null
    treaties_as_of: string | null
    /** What the last pulls found; features/partners/stored-facts.ts. */
    stored_json: string
  }
  /** Texts of a partner up to 1 MiB, compared with what it shows later. */
  partner_texts: { sovereign_id: string; material: string; text: string; stored_at: string }
  /** Stays when the partner is removed, so that one added again cannot go back. */
  partner_sequences: { sovereign_id: string; pin_digest: string; material: string; sequence: number }
  partner_alarms: {
    alarm_id: string
    sovereign_id: string
    kind: string
    material: string
    sequence: number | null
    held_digest: string | null
    offered_digest: string | null
    held_text: string | null
    offered_text: string | null
    raised_at: string
    cleared_at: string | null
  }
  /** Treaties that a partner lists as active. `hidden`: shown in two forms, so shown in none. */
  reported_treaties: {
    sovereign_id: string
    treaty_id: string
    subject_sovereign_id: string
    treaty_json: string
    /** Of the canonical text without signatures. */
    digest: string
    /** As signed. */
    valid_from: string
    expires_at: string
    /** The same, sortable. */
    starts_at: string
    ends_at: string
    hidden: number
  }
}
