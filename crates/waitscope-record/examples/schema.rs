//! Prints the JSON Schema of a record; its output is committed as `schema/waitscope-1.json`.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    use std::io::Write;
    std::io::stdout().write_all(waitscope_record::json_schema()?.as_bytes())?;
    Ok(())
}
