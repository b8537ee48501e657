//! The vector of a text: its words hashed into the vector's places.
//!
//! Source: K. Weinberger et al., "Feature hashing for large scale multitask learning", ICML 2009:
//! one hash chooses a word's place and its sign, and texts that share words get similar vectors.

use waitscope_stats::draw::StableHash;

/// The length of a vector, and the most that can be asked for.
pub const DIMENSIONS: usize = 384;

/// The vector of a text, of length 1.
pub fn of_text(text: &str, dimensions: usize) -> Vec<f32> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let hashes = words.map(|word| hash(word.to_lowercase().as_bytes()));
    unit_vector(hashes, hash(text.as_bytes()), dimensions)
}

/// The vector of a text given as token ids, of length 1.
pub fn of_tokens(tokens: &[u32], dimensions: usize) -> Vec<f32> {
    let hashes = tokens.iter().map(|token| hash(&token.to_le_bytes()));
    unit_vector(hashes, hash(b"no tokens"), dimensions)
}

fn hash(feature: &[u8]) -> u64 {
    StableHash::new(0).bytes(feature).finish()
}

/// `otherwise` is the feature of a text without features, or whose features cancel out.
fn unit_vector(hashes: impl Iterator<Item = u64>, otherwise: u64, dimensions: usize) -> Vec<f32> {
    let mut vector = vec![0.0_f32; dimensions];
    for hash in hashes {
        add(&mut vector, hash);
    }
    if vector.iter().all(|place| *place == 0.0) {
        add(&mut vector, otherwise);
    }
    let length = vector.iter().map(|place| place * place).sum::<f32>().sqrt();
    for place in &mut vector {
        *place /= length;
    }
    vector
}

fn add(vector: &mut [f32], hash: u64) {
    let place = (hash >> 1) % vector.len() as u64;
    let place = place as usize;
    vector[place] += if hash & 1 == 0 { 1.0 } else { -1.0 };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dot(a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn vectors_have_the_asked_length_and_norm_1() {
        for (text, dimensions) in [("hello world", 384), ("", 384), ("?!", 7), ("one two", 1)] {
            let vector = of_text(text, dimensions);
            assert_eq!(vector.len(), dimensions);
            assert!((dot(&vector, &vector) - 1.0).abs() < 1e-5, "{text}");
        }
        let vector = of_tokens(&[], 384);
        assert!((dot(&vector, &vector) - 1.0).abs() < 1e-5);
    }

    #[test]
    fn texts_that_share_words_are_similar() {
        let parcel = of_text("where is my parcel", DIMENSIONS);
        let similar = of_text("My PARCEL: where is it?", DIMENSIONS);
        let other = of_text("the server answers with an error", DIMENSIONS);
        assert!(dot(&parcel, &similar) > 0.5);
        assert!(dot(&parcel, &other).abs() < 0.3);
        assert_eq!(of_tokens(&[1, 2], DIMENSIONS), of_tokens(&[2, 1], DIMENSIONS));
        assert_ne!(of_tokens(&[1, 2], DIMENSIONS), of_tokens(&[1, 3], DIMENSIONS));
    }
}
